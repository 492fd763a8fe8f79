// SPDX-License-Identifier: LGPL-3.0-or-later
// editor.ts - opens a source line in an editor, by an address that the reader sets, such as
// vscode://file/{file}:{line}.  Off by default; the browser stores the address, the page and its
// links do not, so others cannot set it.
import { el } from "./element";

const KEY = "mprof-editor", EXAMPLE = "vscode://file/{file}:{line}";

let scheme: string | null = null;

function chosen(): string {
	try {
		scheme ??= localStorage.getItem(KEY) ?? "";
	} catch {
		scheme ??= ""; // the browser keeps nothing for this page
	}
	return scheme;
}

// Schemes that would run or load something in the browser itself are refused.
const isEditor = (text: string): boolean => /^[a-z][a-z0-9+.-]*:/i.test(text) && !/^(javascript|data|vbscript|blob|file|https?|about):/i.test(text);

// null: no editor is set, or the file has no full path, as in a page that hides home directories.
export function editorLink(file: string, line: number): string | null {
	const text = chosen();
	if (!isEditor(text) || !file.startsWith("/"))
		return null;
	return text.split("{file}").join(encodeURI(file).replace(/[?#]/g, encodeURIComponent)).split("{line}").join(String(line || 1));
}

export function openInEditor(file: string, line: number): boolean {
	const link = editorLink(file, line);
	if (link)
		el("a", { href: link, rel: "noreferrer" }).click();
	return link !== null;
}

export const editorField = (changed: () => void): HTMLElement => el("label", { title: "{file} and {line} stand for the path and the line; empty: no links" },
	"Editor ", el("input", { type: "text", size: 26, placeholder: EXAMPLE, value: chosen(), spellcheck: "false", autocomplete: "off", change: (e: Event) => {
		const input = e.target as HTMLInputElement;
		input.setAttribute("aria-invalid", String(!!input.value && !isEditor(input.value)));
		scheme = input.value;
		try {
			localStorage.setItem(KEY, scheme);
		} catch {
			// kept while the page is open
		}
		changed();
	} }));
