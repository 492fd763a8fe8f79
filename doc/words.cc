// SPDX-License-Identifier: LGPL-3.0-or-later
/* words.cc - on which lines of a text each word stands: the example of README.md. */
#include <fstream>
#include <iostream>
#include <map>
#include <string>
#include <vector>

struct index {
	std::map<std::string, std::vector<long>> where;

	void add(std::string word, long line) // by value: a copy of each word
	{
		where[word].push_back(line);
	}
};

static index read(const char *path)
{
	std::ifstream in(path);
	std::string line, word;
	index all;

	for (long n = 1; std::getline(in, line); n++)
		for (char c : line + ' ')
			if (c != ' ')
				word += c;
			else if (!word.empty()) {
				all.add(word, n);
				word.clear();
			}
	return all;
}

int main(int argc, char **argv)
{
	index all = read(argv[1]);

	std::cout << all.where.size() << " words\n";
}
