// SPDX-License-Identifier: LGPL-3.0-or-later
// look.ts - what a page shows that is not part of its State: it outlives new figures.

const SCROLLS = ".table, .scroll, .deep"; // boxes with bars of their own

const parts = (selector: string): HTMLElement[] => [...document.querySelectorAll<HTMLElement>(selector)];

// A row of the call tree by its path, because its figures change.
function pathOf(item: Element): string {
	const above = item.parentElement!.closest("[role=treeitem]"), row = item.querySelector(":scope > .row")!;
	return (above ? pathOf(above) + "\n" : "") + [row.querySelector("b"), row.querySelector("small")].map(e => e!.textContent).join(" ");
}

// Returns what makes the page look as now.
export function keepLook(): () => void {
	const open = parts("details[open] > summary").map(s => s.textContent), boxes = parts(SCROLLS).map(e => [e.scrollLeft, e.scrollTop]), x = scrollX, y = scrollY;
	const items = new Map(parts("[role=treeitem]").map(item => [pathOf(item), item.getAttribute("aria-expanded")]));
	const had = document.activeElement?.closest("[role=treeitem]"), focused = had && pathOf(had);
	const scroll = () => {
		parts(SCROLLS).forEach((e, i) => boxes[i] && e.scrollTo(boxes[i][0], boxes[i][1]));
		scrollTo(x, y);
	};
	return () => {
		for (const summary of parts("details:not([open]) > summary"))
			if (open.includes(summary.textContent))
				(summary.parentElement as HTMLDetailsElement).open = true;
		const list = parts("[role=tree] > [role=treeitem]");
		for (let item; (item = list.pop());) {
			const row = item.querySelector<HTMLElement>(":scope > .row")!, path = pathOf(item), is = item.getAttribute("aria-expanded"), was = items.get(path);
			if (was && is && was != is)
				row.click();
			if (path == focused)
				row.focus({ preventScroll: true });
			list.push(...item.querySelectorAll<HTMLElement>(":scope > ul > [role=treeitem]"));
		}
		scroll();
		requestAnimationFrame(scroll); // after pages that scroll to their chosen row
	};
}
