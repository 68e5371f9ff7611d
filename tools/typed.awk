# Says what is wrong with the goals and variables that were typed at make, and which known one is
# the nearest. Prints nothing if all is known.
#
#   TYPED_GOALS='experiment' TYPED_NAMES='SIZ' TYPED_ARGS='drive=rz85' TAKEN_BY_ALL='V JOBS' \
#       POLICIES='policies/sched/clook.c' awk -f tools/typed.awk Makefile \
#       sluice/cli/old_goals.toml drives/*.c book/arguments.toml
#
# With NEAREST_TO='elevatr' AMONG='smooth elevator' it prints the end of a message alone.
#
# - A goal takes the variables that its line of help names, as "SIZE=". A command
#   of bin/sluice takes the keys of its table in old_goals.toml.
# - A goal with a slash or a dot in its name is a file. It takes every variable of any goal.
# - A drive is a file drives/*.c, with its name in it; a policy is a file policies/KIND/NAME.c.
# - A boot argument is a table of arguments.toml (the book's reference), or a kind of policies.

function least(a, b) { return a < b ? a : b }

# The number of letters to be changed, added, removed, or swapped with the next, to make b of a.
function distance(a, b,    i, j, d) {
    for (i = 0; i <= length(a); i++)
        for (j = 0; j <= length(b); j++) {
            if (i == 0 || j == 0) {
                d[i, j] = i + j
                continue
            }
            d[i, j] = least(least(d[i - 1, j], d[i, j - 1]) + 1,
                d[i - 1, j - 1] + (substr(a, i, 1) != substr(b, j, 1)))
            if (i > 1 && j > 1 && substr(a, i - 1, 1) == substr(b, j, 1) &&
                substr(a, i, 1) == substr(b, j - 1, 1))
                d[i, j] = least(d[i, j], d[i - 2, j - 2] + 1)
        }
    return d[length(a), length(b)]
}

# The nearest of some words, if it is near: the first of those that are as long, else the first.
function nearest(word, words,    n, one, i, far, best, found) {
    n = split(words, one)
    best = 2 * (1 + int(length(word) / 3)) + 1
    for (i = 1; i <= n; i++) {
        far = 2 * distance(tolower(word), tolower(one[i])) + (length(one[i]) != length(word))
        if (far < best && far < 2 * length(word)) {
            best = far
            found = one[i]
        }
    }
    return found
}

function is_in(word, words) { return index(" " words " ", " " word " ") > 0 }

# The end of a message: the nearest word, or all.
function instead(word, words, otherwise,    near) {
    near = nearest(word, words)
    return near ? "did you mean " near "?" : otherwise
}

BEGIN {
    if ("NEAREST_TO" in ENVIRON) {
        print instead(ENVIRON["NEAREST_TO"], ENVIRON["AMONG"], "there are " ENVIRON["AMONG"])
        answered = 1
        exit
    }
}

# Note that a goal takes the variables that stand in a text.
function note(goal, text,    name) {
    if (!is_in(goal, goals))
        goals = goals " " goal
    while (match(text, /[A-Z][A-Z0-9_]*[=?]/)) {
        name = substr(text, RSTART, RLENGTH - 1)
        text = substr(text, RSTART + RLENGTH)
        if (!is_in(name, takes[goal]))
            takes[goal] = takes[goal] " " name
        if (!is_in(name, all))
            all = all " " name
    }
}

/^[a-z][a-z_.-]*:.*## / { note(substr($0, 1, index($0, ":") - 1), substr($0, index($0, "## "))) }

FILENAME ~ /old_goals\.toml$/ && /^\[/ { table = substr($0, 2, length($0) - 2) }
FILENAME ~ /old_goals\.toml$/ && /^verb = / { note(table, "") }
FILENAME ~ /old_goals\.toml$/ && /^[A-Z][A-Z0-9_]* = / { note(table, $1 "=") }

/^\.PHONY:/ { phony = $0 }

/^    \.name = "/ && FILENAME ~ /^drives\// {
    split($0, part, "\"")
    drives = drives " " part[2]
}

/^\[[a-z_]+\]$/ && FILENAME ~ /arguments\.toml$/ {
    arguments = arguments " " substr($0, 2, length($0) - 2)
}

END {
    if (answered)
        exit
    typed = ENVIRON["TYPED_GOALS"] ? ENVIRON["TYPED_GOALS"] : "all"
    n = split(typed, one)
    for (i = 1; i <= n; i++) {
        goal = one[i]
        if (goal ~ /[\/.]/)
            known = known all
        else if (!is_in(goal, goals " " phony)) {
            print goal ": there is no such goal; " instead(goal, goals, "see") \
                (nearest(goal, goals) ? " `make help` lists all" : " `make help`")
            exit
        }
        known = known takes[goal]
    }
    for (i = split(ENVIRON["TYPED_NAMES"], one); i > 0; i--)
        if (!is_in(one[i], known " " ENVIRON["TAKEN_BY_ALL"])) {
            print one[i] ": " typed " has no such variable; " instead(one[i],
                known " " ENVIRON["TAKEN_BY_ALL"], known ? "it has" known : "it has none")
            exit
        }
    for (i = split(ENVIRON["POLICIES"], one, /[ \/]/); i > 2; i -= 3)
        policies[one[i - 1]] = policies[one[i - 1]] " " substr(one[i], 1, length(one[i]) - 2)
    for (kind in policies)
        arguments = arguments " " kind
    for (i = split(ENVIRON["TYPED_ARGS"], one); i > 0; i--) {
        at = index(one[i], "=")
        name = substr(one[i], 1, at - 1)
        value = substr(one[i], at + 1)
        sub(/^disk[0-9]+\./, "", name)
        if (!at || name ~ /\./)
            continue # the kernel says what is wrong, and of tunables, which there are
        if (!is_in(name, arguments)) {
            print "ARGS: " one[i] ": there is no such argument; " instead(name, arguments,
                "there are" arguments)
            exit
        }
        if (name == "drive" && !is_in(value, drives)) {
            print "ARGS: " one[i] ": there is no such drive; " instead(value, drives,
                "there are" drives)
            exit
        }
        if (name in policies && !is_in(value, policies[name])) {
            print "ARGS: " one[i] ": there is no such policy; " instead(value, policies[name],
                "there are" policies[name])
            exit
        }
    }
}
