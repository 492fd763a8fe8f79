# SPDX-License-Identifier: LGPL-3.0-or-later
"""Prints the text that README.md runs doc/words.cc on: 200,000 words, the same every time."""


def word(i):
    letters = ""
    n = i
    for k in range(13 + i % 5 * 3):
        n = (n * 1103515245 + 12345 + k) & 0x7fffffff
        letters += chr(97 + (n >> 16) % 26)
    return letters


words = [word(i) for i in range(20000)]
state = 1
for _ in range(10000):
    line = []
    for _ in range(20):
        state = (state * 6364136223846793005 + 1442695040888963407) & (2 ** 64 - 1)
        line.append(words[(state >> 33) % len(words)])
    print(*line)
