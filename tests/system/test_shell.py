"""The shell and the tools at the console, as a user types.

In what a test types, \\x03 is ^C, \\x04 is ^D (end of input), \\x15 is ^U (erase the line), and \\t
is Tab. "\\x1b[A" is the key Up, "\\x1b[D" the key Left.
"""

import re

import pytest
from conftest import Boot, MakeImage, Run

from sluice.system import image
from sluice.system.image import Content
from sluice.system.qemu import Config, Disk, Machine

LINES = {  # what is typed, and what it prints; all in one machine, in this order
    "echo one two": "one two\n",
    "echo 'a  b' \"c  d\"": "a  b c  d\n",
    "echo a b c | wc -w": "3\n",
    "echo abc > /t; cat < /t; echo def >> /t; cat /t": "abc\nabc\ndef\n",
    "true && echo yes; false && echo no": "yes\n",
    "(cd /bin; pwd); pwd": "/bin\n/\n",
    "seq 1000 | tail -n 1 | cat | cat": "1000\n",
    "nosuch 2> /dev/null || echo $?": "127\n",
    "cat /nosuch 2> /dev/null || echo no": "no\n",
    "ls -l /bin/sh | wc -l": "1\n",
    "echo x > /x; dd if=/x of=/y 2> /dev/null; cmp /x /y && echo same": "same\n",
    "mkdir /d && ln -s d /l && echo in > /l/f && cat /d/f && rm -r /d /l": "in\n",
    "echo 'echo from a script; exit 3' > /s; sh /s || echo $?": "from a script\n3\n",
    "for x in a 'b c' $(seq 2); do echo $x; done": "a\nb c\n1\n2\n",
    "for x in 1 2\ndo\n  # a comment\n  echo $x\n\ndone": "1\n2\n",
    "for x in; do echo never; done; echo $?": "0\n",
    "n=0; while [ $n -lt 3 ]; do n=$((n + 1)); echo $n; done": "1\n2\n3\n",
    "n=3; until [ $n = 0 ]; do n=$((n-1)); [ $n = 1 ] && continue; echo $n; done": "2\n0\n",
    "for x in 1 2 3; do for y in 1 2; do [ $x = 2 ] && break 2; echo $x$y; done; done": "11\n12\n",
    "for x in 1 2 3; do if [ $x = 1 ]; then echo one; elif [ $x = 2 ]; then echo two; "
    "else echo more; fi; done": "one\ntwo\nmore\n",
    "if false; then echo no; fi; echo $?": "0\n",
    "if ! grep -q nothing /s; then echo not there; fi": "not there\n",
    "{ echo a; echo b; } > /g; cat /g; if true; then cat; fi < /g": "a\nb\na\nb\n",
    "seq 3 | while read x; do echo got $x; done": "got 1\ngot 2\ngot 3\n",
    "echo one two three > /r; read a b < /r; echo $b, $a": "two three, one\n",
    "while read x; do cat /r; done < /r; echo $?": "one two three\n0\n",
    'echo [$(echo a; echo b)] "[$(echo a; echo b)]"': "[a b] [a\nb]\n",
    "echo $(echo \"$(echo ')')\") $(seq 2 | wc -l)": ") 2\n",
    "x=$(exit 3); echo $?; x=$(echo '*'); echo \"$x\"": "3\n*\n",
    "n=4; echo $((2 * (n + 3) % 5)) $((-7 / 2)) $((1 < 2 && 3 >= 3)) $((!n))": "4 -3 1 0\n",
    "echo 'for x in \"$@\"; do echo \"<$x>\"; done; echo $#' > /s; sh /s 'a  b' ''; sh /s": (
        "<a  b>\n<>\n2\n0\n"
    ),
    "echo 'shift 2; echo $1 \"$*\" ${10}' > /s; sh /s 1 2 3 4 5 6 7 8 9 a b c": (
        "3 3 4 5 6 7 8 9 a b c c\n"
    ),
    "echo '[ $1 = 9 ] && exit; sh /s $(($1 + 1)); echo $1' > /s; sh /s 7": "8\n7\n",
    "sh -e -c 'while false; do :; done; if false; then :; fi; false; echo no' || echo $?": "1\n",
}

# Scripts that are wrong, or that run into an error: what is said of each on descriptor 2.
COMPLAINTS = {
    "echo a\nnocmd": "sh: /w: line 2: nocmd: command not found",
    "/no/cmd": "sh: /w: line 1: /no/cmd: no such file or directory",
    "if true\nthen echo a\ndone": (
        "sh: /w: line 3: syntax error: expected the `fi` of the `if` of line 1, found `done`"
    ),
    "\nwhile true; do\necho a": (
        "sh: /w: line 4: syntax error: the text ends without the `done` of the `while` of line 2"
    ),
    "fi": "sh: /w: line 1: syntax error: found `fi` without its beginning",
    "echo a )": "sh: /w: line 1: syntax error: expected a command, found `)`",
    "for 1 in a; do b; done": (
        "sh: /w: line 1: syntax error: expected the name of a variable behind `for`"
    ),
    "echo $(echo a": "sh: /w: line 1: syntax error: the text ends after an open $(",
    "cat << E": ("sh: /w: line 1: syntax error: here-documents (<<) are not known; use echo and |"),
    "echo ${x:-1}": "sh: /w: line 1: ${x:-1}: of ${...} only ${NAME} is known",
    "echo `ls`": "sh: /w: line 1: `command` is not known: write $(command)",
    "echo a\necho $((1 / 0))": "sh: /w: line 2: $((1 / 0)): division by 0",
    "break": "sh: /w: line 1: break: not in a loop",
    "(" * 200: "sh: /w: line 1: syntax error: nested more than 100 deep",
}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the output of each of the lines and wrong scripts, in one machine."""
    files = {f"/w{i}": text.encode() + b"\n" for i, text in enumerate(COMPLAINTS)}
    path = image.make_image(tmp_path_factory.mktemp("shell") / "disk.img", Content(files))
    with Machine(Config((Disk(path),))) as machine:
        machine.wait_prompt()
        said = {line: machine.run(line).text for line in LINES}
        for i, text in enumerate(COMPLAINTS):
            said[text] = machine.run(f"mv /w{i} /w; sh /w").text
        machine.power_off()
    image.check_image(path)
    return said


@pytest.mark.parametrize("line", LINES)
def test_a_line_prints_what_it_should(outputs: dict[str, str], line: str) -> None:
    assert outputs[line].replace(" ", "") == LINES[line].replace(" ", "")


@pytest.mark.parametrize("text", COMPLAINTS)
def test_an_error_in_a_script_is_told_with_file_and_line(
    outputs: dict[str, str], text: str
) -> None:
    assert COMPLAINTS[text] in outputs[text].splitlines()


def test_tab_completes_commands_and_files_and_lists_what_is_not_clear(boot: Boot) -> None:
    """Each line is typed with tabs in it, and the console must show the pattern."""
    machine = boot()
    machine.check("mkdir /dir && echo inside > /dir/file; echo blank > '/two words'")
    machine.check("echo a > /same1; echo b > /same2; echo cd > /cd-is-no-directory; cd /dir")
    for typed, shown in {  # shown: a pattern of the console
        "ech\tcommand\n": r"^command$",
        "hist\t| tail -n 1\n": r"^ +\d+  history \| tail -n 1$",
        "cat f\t\n": r"^inside$",
        "cat /di\tf\t": r"cat /dir/file ",
        "| cat\n": r"^inside$",
        "cat /tw\t\n": r"^blank$",
        "cat '/tw\t\n": r"^blank$",
        "true && ech\t$(ech\tnested)\n": r"^nested$",
        "wc -l < /tw\t\n": r"^ *1$",
        "cat /sa\t\t": r"^same1  same2 *\nsluice:/dir\$ cat /same",
        "2\n": r"^b$",
        "cd /c\t\x15echo none\n": r"^none$",
        "cd /d\t": r"cd /de?",
        "\x15\techo tab\n": r"^tab$",
    }.items():
        machine.send(typed)
        machine.expect(shown)


def test_interrupt_ends_loops_and_waiting_of_the_shell_itself(boot: Boot) -> None:
    """^C is typed so often that it meets every moment between two jobs of a loop."""
    machine = boot()
    jobs = ["while true; do true; done", "while true; do true; done < /bin/sh"] * 10
    for line in ["while :; do :; done", *jobs, "sleep 1000 & wait"]:
        machine.send(line + "\n")
        machine.expect(re.escape(line) + "\n")
        machine.send("\x03")
        machine.wait_prompt()
    assert machine.check("kill $!; echo the shell lives") == "the shell lives\n"


def test_interrupt_kills_the_foreground_job_only(boot: Boot) -> None:
    machine = boot()
    machine.send("sleep 1000\n")
    machine.expect("sleep 1000\n")
    machine.send("\x03")
    machine.wait_prompt()
    assert machine.check("echo the shell lives") == "the shell lives\n"


def test_end_of_input_powers_off(boot: Boot) -> None:
    machine = boot()
    machine.send("\x04")
    assert machine.wait().status == 0


def test_lines_can_be_edited_and_recalled(boot: Boot) -> None:
    """Typed: a line that is erased, one with a letter put in after a step to the left, and arrow
    up."""
    machine = boot()
    machine.send("garbage\x15echo helo\x1b[Dl\n")
    machine.expect(r"^hello$")
    machine.wait_prompt()
    machine.send("\x1b[A\n")
    machine.expect(r"^hello$")
    machine.wait_prompt()


def test_background_work_and_iostat_go_on_together(boot: Boot) -> None:
    machine = boot(harts=2)
    machine.check("cp /bin/sh /copy & wait && cmp /bin/sh /copy")
    assert "bio.hits" in machine.check("iostat")


def test_iostat_shows_counters_that_are_not_0_in_groups_and_with_a_all(boot: Boot) -> None:
    """A group has the counters with the same first word. `iostat COMMAND` shows what a command
    changed."""
    machine = boot()
    machine.check("sleep 0.01")  # or a busy host has typed before the hart was idle once
    some, every = machine.check("iostat"), machine.check("iostat -a")
    rows = re.compile(r"^(\w+\.\w+) +(-?[0-9.]+) ([\w-]+)$", re.M)
    shown = {name: float(value) for name, value, _ in rows.findall(some)}
    assert 0 not in shown.values()
    assert "bio.lost" not in shown
    names = [line.split()[0] for line in machine.check("cat /dev/stat").splitlines()]
    groups = list(dict.fromkeys(name.split(".")[0] for name in names))
    by_group = sorted(names, key=lambda name: groups.index(name.split(".")[0]))
    assert [row[0] for row in rows.findall(every)] == by_group
    hidden = re.search(r"^(\d+) further counters are 0; iostat -a shows them$", some, re.M)
    assert int(hidden[1]) + len(shown) == len(names)
    assert re.search(r"^bio\.\w+ +\d+ \w+\n\n(?!bio\.)\w+\.", some, re.M)
    assert re.search(r"^cpu\.idle +\d+\.\d{3} (s|ms|us)$", some, re.M)
    assert machine.run("iostat -x").status == 2
    assert "file.open" not in machine.check("iostat true")
    assert "file.open" in machine.check("iostat -a true")


def test_a_script_of_many_lines_is_run_to_its_end(run_script: Run) -> None:
    script = "".join(f"echo line {i}\n" for i in range(300))
    result = run_script(script)
    assert [line for line in result.console.splitlines() if line.startswith("line ")] == [
        f"line {i}" for i in range(300)
    ]


def test_two_machines_do_not_disturb_each_other(make_image: MakeImage, boot: Boot) -> None:
    first, second = boot(disks=(Disk(make_image()),)), boot(disks=(Disk(make_image()),))
    first.check("echo first > /name")
    second.check("echo second > /name")
    assert (first.check("cat /name"), second.check("cat /name")) == ("first\n", "second\n")


def test_a_reader_of_the_console_does_not_end_because_another_took_the_line(boot: Boot) -> None:
    """Four readers wait, on four harts, and one line at a time wakes them all."""
    machine = boot(harts=4)
    reader = "(cat /dev/console > /dev/null; echo at its end)"
    machine.send(f"for i in 1 2 3 4; do {reader} & done; echo ready; sleep 1000\n")
    machine.expect("^ready\n")
    for i in range(20):
        machine.send("".join(f"{i} {j}\n" for j in range(40)))
        machine.expect(f"^{i} 39\n")
    assert "at its end\n" not in machine.console
    for _ in range(4):
        machine.send("\x04")
        machine.expect("^at its end\n")
    machine.send("\x03")
    machine.wait_prompt()
