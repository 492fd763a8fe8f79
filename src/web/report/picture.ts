// SPDX-License-Identifier: LGPL-3.0-or-later
// picture.ts - pictures as SVG elements, with buttons to save them.  Colours are resolved when
// a picture is drawn, so that a saved one does not need the page's style.
import { download, el } from "./element";

type Attributes = { [name: string]: string | number | null | undefined };

export function svg<K extends keyof SVGElementTagNameMap>(tag: K, attributes: Attributes = {},
		...children: (Node | string)[]): SVGElementTagNameMap[K] {
	const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
	for (const [name, value] of Object.entries(attributes))
		if (value !== null && value !== undefined)
			e.setAttribute(name, String(value));
	e.append(...children);
	return e;
}

// A colour of the style sheet, such as --ink.
export const color = (name: string): string => getComputedStyle(document.body).getPropertyValue(name).trim();

// A number of bytes at or above n: 1 to 8 times a power of 1024, of which a quarter is a round number, too.
export function roundUpBytes(n: number): number {
	let top = 4;
	while (top < n)
		top *= 2;
	return top;
}

const SCALE = 2; // pixels of a PNG for one of the page

function savePng(picture: SVGSVGElement, name: string): void {
	const image = new Image(), width = picture.width.baseVal.value, height = picture.height.baseVal.value;
	image.onload = () => {
		const c = el("canvas", { width: width * SCALE, height: height * SCALE }), g = c.getContext("2d")!;
		g.fillStyle = color("--card");
		g.fillRect(0, 0, c.width, c.height);
		g.drawImage(image, 0, 0, c.width, c.height);
		c.toBlob(b => b && download(name + ".png", "image/png", b));
	};
	image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(picture.outerHTML);
}

// Buttons for a picture that is redrawn from time to time.
export const saveButtons = (picture: () => SVGSVGElement, name: string): HTMLElement[] => [
	el("button", { type: "button", click: () => download(name + ".svg", "image/svg+xml", picture().outerHTML + "\n") }, "Save SVG"),
	el("button", { type: "button", click: () => savePng(picture(), name) }, "Save PNG"),
];
