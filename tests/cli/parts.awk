# SPDX-License-Identifier: LGPL-3.0-or-later
#
# parts.awk - writes for each case, test_NAME, a file DIR/NAME with the functions that it needs.
#
#   awk -v dir=DIR -f parts.awk FUNCTIONS FILE.sh...
#
# FUNCTIONS has the name of each function, as bash knows it: a program in a here-document may have lines
# that look like one.  A part is a function with what follows it up to the next one; it needs all parts
# whose function, or variable, has a name that is one of its words.  So it may get too much, but not
# too little.
NR == FNR {
	is_function[$1]
	next
}
FNR == 1 { n++ }
match($0, /^[A-Za-z_][A-Za-z0-9_]*\(\) *[{(]/) {
	found = substr($0, 1, index($0, "(") - 1)
	if (found in is_function) {
		name[++n] = found
		home[found] = n
	}
}
/^[A-Za-z_][A-Za-z0-9_]*=/ { home[substr($0, 1, index($0, "=") - 1)] = n }
{
	text[n] = text[n] $0 "\n"
	count = split($0, word, /[^A-Za-z0-9_]+/)
	for (i = 1; i <= count; i++)
		if (!((n, word[i]) in has)) {
			has[n, word[i]]
			words[n] = words[n] " " word[i]
		}
}
function need(part,    i, count, word) {
	if (part in needed)
		return
	needed[part]
	count = split(words[part], word, " ")
	for (i = 1; i <= count; i++)
		if (word[i] in home)
			need(home[word[i]])
}
END {
	for (part = 1; part <= n; part++) {
		if (name[part] !~ /^test_/)
			continue
		split("", needed)
		need(part)
		file = dir "/" substr(name[part], 6)
		for (i = 1; i <= n; i++)
			if (i in needed)
				printf "%s", text[i] > file
		close(file)
	}
}
