# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# gcov -b -n ... | awk -v of=REGEX -v total=NAME [-v json=y] -f gcov.awk - a row for each
# file whose path ends with REGEX, and one of all of them. A branch counts if it was
# taken.

function row(name, l, nl, b, nb)
{
	if (json) {
		printf "%s {\"file\":\"%s\",\"lines\":%.1f,\"branches\":%.1f}", sep, name, l, b
		sep = ",\n"
	} else
		printf "%-40s %7.1f%% of %4d %7.1f%% of %4d\n", name, l, nl, b, nb
}

function flush()
{
	if (file == "") return
	row(file, l, nl, b, nb)
	tl += l * nl / 100; tnl += nl; tb += b * nb / 100; tnb += nb
	file = ""
}

BEGIN { if (json) print "["; else printf "%-40s %16s %16s\n", "file", "lines", "branches taken" }
/^File / {
	flush(); b = 100; nb = 0
	f = $2; gsub(/\047/, "", f)
	if (match(f, of) && !seen[f = substr(f, RSTART)]++) file = f
}
file != "" && /^Lines executed/ { split($2, p, /[:%]/); l = p[2]; nl = $NF }
file != "" && /^Taken at least once/ { split($4, p, /[:%]/); b = p[2]; nb = $NF }
END {
	flush()
	row(total, tnl ? tl * 100 / tnl : 0, tnl, tnb ? tb * 100 / tnb : 0, tnb)
	if (json) print "\n]"
}
