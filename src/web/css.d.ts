// SPDX-License-Identifier: LGPL-3.0-or-later
// A style sheet is bundled as its text.
declare module "*.css" {
	const text: string;
	export default text;
}
