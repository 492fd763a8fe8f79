/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * exit_forms.h - the words of AT_EXIT and DUMP: what a process writes at its end, or in a dump; and
 * the table of `stat`.
 */
#ifndef MPROF_EXIT_FORMS_H
#define MPROF_EXIT_FORMS_H

/* Separated by AND: use a string literal, or MPROF_COMMA for a list. */
#define MPROF_EXIT_FORMS(AND) "folded" AND "text" AND "stat" AND "callgrind" AND "json"
#define MPROF_COMMA	      ,

/* The first line of the table, without its end; both histograms have this many numbers. */
#define MPROF_STAT_TITLES "seconds\tcalls\tbytes\tlive_bytes\tpeak_bytes\tsizes\tlive_sizes"
#define MPROF_STAT_BINS	  64u

#endif
