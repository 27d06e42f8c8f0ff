#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# attacks.sh - the table of attacks is as bad as what it is made of: runs that are made
# up, and programs that die under run-tests.sh. Speaks KTAP.

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
. selftests/lib/ktap.sh
logs=$tmp/logs

printf '%s\tyes\tan attack\n' M1 M2 O9 O10 >"$tmp/rows"
printf 'E6\tno wire\tanother\n' >>"$tmp/rows"

# program PLACE NAME [WHY]: its output is stdin
program() {
	mkdir -p "$logs/$1"
	cat >"$logs/$1/${2//\//_}.log"
	printf '%s\t1\t0\t0\t%s\n' "$2" "${3-}" >>"$logs/$1/results"
}

end() {
	local place

	for place; do printf 'total\t1\t0\t0\t\n' >>"$logs/$place/results"; done
}

# All rows hold.
good() {
	rm -rf "$logs"
	program native engine/a <<-'EOT'
		# 99 flips
		ok 1 global.M1_a
	EOT
	program vm-6.12 kernel/a <<-'EOT'
		#  RUN           x.one.M2_b ...
		# kernel/a.c:7:M2_b:GDA_SEED=5
		# kernel/a.c:9:M2_b:12 rounds of 3
		#            OK  x.one.M2_b
		ok 1 x.one.M2_b
		# kernel/a.c:9:M2_b:7 rounds of 3
		ok 2 x.two.M2_b
	EOT
	program vm-6.12 kernel32/a <<<"ok 1 x.any"
	program debug/1 kernel/a <<<"ok 1 x.one.M2_b # SKIP no such thing"
	end native vm-6.12 debug/1
}

# is NAME STATUS [ROW=RESULT...]: what the table says, and its exit status
is() {
	local name=$1 want=$2 status got why='' r

	shift 2
	tools/scripts/attacks.py --json --logs "$logs" --rows "$tmp/rows" >"$tmp/out" 2>"$tmp/err"
	status=$?
	[ $status = "$want" ] || why="exit status $status"
	for r; do
		got=$(sed -n 's/^ {"row": "'"${r%%=*}"'", "result": "\([^"]*\)".*/\1/p' "$tmp/out")
		[ "$got" = "${r#*=}" ] || why+=" ${r%%=*} is $got"
	done
	said "$name" "$why"
}

# said NAME FINDING: there must be none
said() { ok "$1" none "$2"; }

# shows NAME REGEX...: lines of the table
shows() {
	local name=$1 r why=''

	shift
	tools/scripts/attacks.py --logs "$logs" --rows "$tmp/rows" >"$tmp/out" 2>"$tmp/err"
	for r; do
		grep -qE "$r" "$tmp/out" "$tmp/err" || why+=" not there: $r"
	done
	said "$name" "$why"
}

echo "1..22"
good
is "all rows hold" 0 M1=ok M2=ok O9=ok O10=ok E6=n/a
shows "figures, variants, reasons" 'a\.M1_a +1 +- +- +ok +99 flips' \
	'x\.M2_b +- +2 +skip +ok +2 times: 7\.\.12 rounds of 3' 'debug: no such thing' \
	'^E6 .*no wire' '^native +ended 20'

# Rows that each suite alone has a test of, which fails there: none is left out.
printf '%s\tyes\tanother\n' Q7 X12 >>"$tmp/rows"
for place in native vm-6.1 vm-newest vm-6.12-arm64 vm-6.12-arm64-16k pair/0 pair/1 debug/2 kcsan/1; do
	good
	program "$place" dpa/a <<<"ok 1 x.Q7_a"
	program "$place" lib/a <<<"not ok 1 x.X12_a"
	sed -i '/^total/d' "$logs/$place/results"
	end "$place"
	tools/scripts/attacks.py --json --logs "$logs" --rows "$tmp/rows" >"$tmp/json" 2>"$tmp/err"
	grep -q '"row": "Q7", "result": "ok"' "$tmp/json" &&
		grep -q '"row": "X12", "result": "FAILED"' "$tmp/json" || missed+=" $place"
done
said "tests of each suite count, also of ids Q and X" "${missed-}"
shows "... whose names are long" '^row .* kcsan  +result' '^X12 .* 1 bad  FAILED'

good
program vm-newest kernel/b <<<"ok 1 x.M1_c"
is "the guest on the newest kernel died" 1 Q7="NO TEST" M1=ok O10=FAILED
sed -i '/^[QX]/d' "$tmp/rows"

# The ids of features have an underscore.
good
program native gin/a <<<"not ok 1 x.M_1_M_01_promise"
end native
is "promises of features are no attacks" 0 M1=ok

good
program vm-6.12 kernel/b <<<"not ok 1 x.M1_c"
end vm-6.12
is "a test failed" 1 M1=FAILED M2=ok O10=ok

good
program vm-6.12 kernel/b "exit status 139" <<<"ok 1 x.M1_c"
is "a program died" 1 M1=FAILED M2=ok O10=ok
shows "... and is named" '6\.12: kernel/b: exit status 139'

good
program vm-6.1 kernel/a "no end after 1 s" </dev/null
end vm-6.1
is "a program said nothing, but had tests elsewhere" 1 M1=ok M2=FAILED

good
program vm-6.12 kernel/c "planned 2, ran 1; the kernel complained" <<<"ok 1 x.any"
is "the kernel complained" 1 M1=ok M2=ok O10=FAILED

good
echo "BUG: KASAN" >"$logs/debug/reports"
is "the debug kernel reported" 1 M1=ok M2=ok O10=FAILED

good
sed -i /total/d "$logs/vm-6.12/results"
echo "ok 1 x.M1_c" >"$logs/vm-6.12/kernel_d.log"
is "the guest died" 1 M1=FAILED M2=ok O10=FAILED

good
mkdir "$logs/vm-6.1"
is "a guest never began" 1 M1=ok O10=FAILED

good
rm -r "$logs/vm-6.12/kernel_a.log" "$logs/debug"
is "a row has no test" 1 M1=ok "M2=NO TEST"

# As pair-tests.sh leaves it.
good
program pair/0 pair/killed <<<"ok 1 x.M1_c"
program pair/1 pair/other <<<"ok 1 x.M1_c"
end pair/0 pair/1
echo "1..1" >"$logs/pair/1/killed.output"
is "the side of a pair that is switched off has no result" 0 M1=ok

good
sed -i 's/^ok .*/& # SKIP none here/' "$logs/vm-6.12/kernel_a.log"
is "a row is skipped everywhere" 1 M1=ok M2=SKIPPED

good
program vm-6.12 kernel/b <<<"ok 1 x.M1_c # SKIP"
is "a test is skipped without a reason" 1 M1=FAILED

good
program native engine/b <<<"ok 1 x.K99_c"
is "a row that is in no list" 1 M1=ok

# The results that run-tests.sh itself writes.
good
for p in dies sleeps stops; do
	printf '#!/bin/sh\necho 1..2\necho ok 1 x.M1_%s\n' $p >"$tmp/$p"
done
echo "kill -SEGV \$\$" >>"$tmp/dies"
echo "exec sleep 60" >>"$tmp/sleeps"
chmod +x "$tmp/"{dies,sleeps,stops}
GDA_SLOW=1 tools/scripts/run-tests.sh --timeout 5 --logs "$logs/native" "$tmp/"{dies,sleeps,stops} >/dev/null 2>&1
is "programs that die, sleep and stop" 1 M1=FAILED M2=ok
shows "... and are named" 'dies: planned 2, ran 1, exit status' 'sleeps: no end after 5 s' \
	'stops: planned 2, ran 1, exit status 0'
sum=$(tools/scripts/sum.sh "$logs/native" "$logs/none")
said "... and added up" "$([ "$sum" = "3 4 0" ] || echo "$sum")"
exit $rc
