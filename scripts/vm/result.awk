# The result of one virtual machine, from its console: a row with a cell for each of `suites`. The tests that failed,
# and why others were skipped, go to the file `names`.
$1 == "vm:" && $2 == "up" { release = $4 }
$1 == "vm:" && $2 == "begin" { suite = $3; begun[suite] = 1 }
$1 == "test" && $3 == "..." {
    if ($4 == "ok") passed[suite]++; else if ($4 ~ /^FAILED/) failed_is($2); else pending = 1
}
# After what the test printed itself.
pending && ($1 == "ok" || $NF ~ /[^a-z]ok$/) { passed[suite]++; pending = 0 }
/^skipped: / { skipped[suite]++; passed[suite]--; if (!seen[$0]++) note($0) }
$1 == "vm:" && $2 == "end" {
    ended[$3] = 1; took[$3] = $5
    # Killed at its limit: that says nothing about the kernel.
    if ($4 == 137) { late[$3] = 1; failed_is("out of time") }
    else if ($4 != 0 && !failed[$3]) failed_is("it ended with code " $4)
}
$1 == "vm:" && $2 == "done" { done = 1 }
function failed_is(what) { failed[suite]++; note("failed: " suite ": " what) }
function note(text) { print "  " debian ": " text >names }
function cell(suite,    text) {
    if (!begun[suite]) return "-"
    if (!ended[suite]) { note("failed: " suite ": did not end"); failed[suite]++ }
    if (late[suite]) text = "out of time, "
    else if (failed[suite]) text = failed[suite] " failed, "
    text = text (passed[suite] + 0) " ok"
    if (skipped[suite]) text = text ", " skipped[suite] " skipped"
    return text (ended[suite] ? ", " took[suite] " s" : "")
}
END {
    row = "| " debian " | " release " |"
    count = split(suites, order, " ")
    for (i = 1; i <= count; i++) {
        row = row " " cell(order[i]) " |"
        bad += failed[order[i]]
        good += passed[order[i]] + skipped[order[i]]
    }
    print row
    exit !(done && bad == 0 && good > 0)
}
