# Lists the goals of a Makefile, each with what its line says behind "##".
#
#   awk -v columns=80 -f tools/help.awk Makefile
#
# - columns: of the terminal, in which all lines fit. 0: the output is no terminal, and each goal has
#   one line, so that it can be searched for.
# - What a goal does stands to the right of its name, or below it if the terminal is narrow.

BEGIN {
    FS = ":.*## "
    NAME = 22 # characters of a goal's name
    NARROW = 70
    hang = columns < NARROW ? 4 : length("make ") + NAME + 1
}

# Print the words of a text, of which the first begins at the column `at`.
function fold(text, at,    n, word, i) {
    n = split(text, word, " ")
    for (i = 1; i <= n; i++) {
        if (at > hang && at + 1 + length(word[i]) > columns) {
            printf "\n%*s", hang, ""
            at = hang
        } else if (at > hang) {
            printf " "
            at++
        }
        printf "%s", word[i]
        at += length(word[i])
    }
    print ""
}

/^[a-z][a-z_.-]*:.*## / {
    if (!columns) {
        printf "make %-" NAME "s %s\n", $1, $2
    } else if (columns < NARROW) {
        printf "make %s\n%*s", $1, hang, ""
        fold($2, hang)
    } else {
        printf "make %-" NAME "s ", $1
        fold($2, hang)
    }
}
