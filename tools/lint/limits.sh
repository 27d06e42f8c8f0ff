#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# limits.sh FILE... - files and functions that are too long
#
#   a source file      700 lines (kernel), 600 (everywhere else)
#   a header           600 lines, its documentation not counted
#   a function         100 lines, from brace to brace

set -uo pipefail

for f; do
	[[ $f =~ ^(kmod|engine|uapi|lib|tools|selftests|examples)/.*\.[ch]$ ]] || continue
	[ -f "$f" ] || continue
	case $f in
	kmod/*.c|engine/*.c) max=700 ;;
	*) max=600 ;;
	esac
	awk -v max=$max '
		# A function: its name and parameters, then "{" alone at the margin.
		/^[A-Za-z_].*\(/ { name = $0; sub(/\(.*/, "", name); sub(/.*[ *]/, "", name) }
		/^\{/ { begin = FNR }
		/^\}/ && begin {
			n = FNR - begin + 1
			if (n > 100)
				print FILENAME ":" begin ": " name "() has " n " lines"
			begin = 0
		}
		/^\/\*\*$/ && FILENAME ~ /h$/ { doc = 1 }
		{ lines += !doc }
		/\*\/$/ { doc = 0 }
		END {
			if (lines > max)
				print FILENAME ":1: " lines " lines, " max " are allowed"
		}' "$f"
done
