// SPDX-License-Identifier: LGPL-3.0-or-later
// unpack.ts - the only script that is plain text in the page: unpacks the others and runs them.
declare const DecompressionStream: { new(format: string): { readable: ReadableStream; writable: WritableStream } };

async function unpack(): Promise<void> {
	const packed = Uint8Array.from(atob(document.getElementById("mprof-script")!.textContent!), c => c.charCodeAt(0));
	const script = document.createElement("script");
	script.textContent = await new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"))).text();
	document.body.append(script);
}

unpack().catch(error => {
	const note = document.createElement("p");
	note.className = "note";
	note.textContent = `This browser cannot unpack the report (${error}): it requires Chromium 80, Firefox 113, Safari 16.4 or newer.`;
	document.getElementById("plain")!.prepend(note);
});
