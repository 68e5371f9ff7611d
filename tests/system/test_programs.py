"""The programs of user/ at the boundaries of their arguments: what they do there, or say.

Issue 44's inputs for programs (P1 to P10) are among them. The C library itself is tested inside the
machine, by usertests (heap.c, text.c, streams.c).

All lines of LINES run in one machine, one after the other, so a line may use the files of earlier
ones. The file /k holds "keep", /l two lines, /nb the numbers to 9000.
"""

import pytest
from conftest import Boot, MakeImage, Run

from sluice.system import image
from sluice.system.image import Content
from sluice.system.qemu import Config, Disk, Machine

LEAST, MOST = -(2**63), 2**63 - 1
DEEP = 150  # levels: more than a process has descriptors
LONGEST = "n" * 255

# A line; what it prints on both descriptors (None: anything), and its exit status.
LINES: dict[str, tuple[str, int]] = {
    # A guard for each form of an argument: no directory is copied into itself.
    "mkdir /a; cp -r /a /a/x": ("cp: /a: cannot be copied into itself\n", 1),
    "ls /a; rm -r /a; ls -d /a": ("ls: /a: no such file or directory\n", 1),
    "mkdir /b; cd /b; cp -r . new; cp -r ../b/. ../b; cd /; ls /b": (
        "cp: .: cannot be copied into itself\ncp: ../b/.: cannot be copied into itself\n",
        0,
    ),
    "mkdir /b/c; ln -s /b/c /bc; cp -r /b /bc/x": ("cp: /b: cannot be copied into itself\n", 1),
    "cp -r /b /bc": ("cp: /b: cannot be copied into itself\n", 1),
    "cp -r / /b/root": ("cp: /: cannot be copied into itself\n", 1),
    "cp -r /b/c/.. /b2; ls /b2": ("c\n", 0),  # .. is the directory that it leads to
    "mkdir /b3; cd /b/c; cp -r .. /b3; cd /; ls /b3": ("c\n", 0),
    "mkdir /b4; cp -r /bc /b4; ls -l /b4 | grep -c '^l'": ("1\n", 0),  # a link as a link
    "cp -r /b /b5; cp -r /b/ /b5; ls -1 /b5": ("b\nc\n", 0),
    # cp follows no link out of the copy.
    "mkdir -p /c/sub /c2/c /far; echo a > /c/sub/f; ln -s /far /c2/c/sub; cp -r /c /c2; ls /far": (
        "cp: /c2/c/sub: file exists\n",
        0,
    ),
    "rm -r . ./ /b/.. /b/../ / // /b/c/../.. ; ls -d /bin": (
        "".join(
            f"rm: {name}: not . or .. or /\n"
            for name in (".", "./", "/b/..", "/b/../", "/", "//", "/b/c/../..")
        )
        + "/bin\n",
        0,
    ),
    # Devices are copied as devices: nothing is read from them.
    "cp -r /dev /x; ls -l /x | grep -c '^c'; ls /dev | wc -l > /n; ls /x | wc -l | cmp - /n": (
        None,
        0,
    ),
    # Arguments at the ends of 64 bits.
    f"seq {MOST} {MOST} | head -n 3": (f"{MOST}\n", 0),
    f"seq {MOST - 1} 2 {MOST}": (f"{MOST - 1}\n", 0),
    f"seq {LEAST + 1} -2 {LEAST}": (f"{LEAST + 1}\n", 0),
    f"seq {LEAST} {MOST} {MOST}": (f"{LEAST}\n-1\n{MOST - 1}\n", 0),
    f"seq {MOST + 1}": (f"seq: {MOST + 1}: not a whole number of 64 bits\n", 1),
    f"[ {MOST + 1} -eq {MOST} ]": (f"[: {MOST + 1}: not understood\n", 2),
    f"echo $(({MOST + 1}))": (
        f"sh: $(({MOST + 1})): a number exceeds 64 bits\n",
        1,
    ),
    f"echo {MOST + 1} 5 {MOST} -{MOST + 9} -{MOST + 8} 007 | xargs -n 1 echo | sort -n": (
        f"-{MOST + 9}\n-{MOST + 8}\n5\n007\n{MOST}\n{MOST + 1}\n",
        0,
    ),
    "echo keep > /k; dd if=/dev/null of=/k bs=4g seek=4g": (
        "dd: seek=4294967296: blocks of 4294967296 bytes: file too large\n",
        1,
    ),
    "dd if=/k of=/k bs=4g skip=4294967297": (
        "dd: skip=4294967297: blocks of 4294967296 bytes: file too large\n",
        1,
    ),
    "cat /k": ("keep\n", 0),
    "truncate -s 18446744073709551615 /k": ("truncate: /k: invalid argument\n", 1),
    "advise -o 18446744073709551615 -n 2 willneed /k": (
        "advise: -o 18446744073709551615 and -n 2: the end is beyond 64 bits\n",
        1,
    ),
    "kill 4294967297 -2147483648": (
        "kill: 4294967297: not a process number\nkill: -2147483648: not a process number\n",
        1,
    ),
    "chmod '' /k; chmod -- -1 /k; chmod 10000 /k": (
        "chmod: : not an octal mode\nchmod: -1: not an octal mode\n"
        "chmod: 10000: not an octal mode\n",
        1,
    ),
    "sh -c 'echo [${4294967297}]' a b": ("[]\n", 0),
    "sh -c 'exit x' || echo $?": ("sh: -c: line 1: exit: x: not a number\n2\n", 0),
    "sh -c 'exit 4294967299'": ("", 3),
    "wait -1; wait 4294967297x; echo a >&1x": (
        "sh: wait: -1: not a process number\nsh: wait: 4294967297x: not a process number\n"
        "sh: 1x: bad file descriptor\n",
        1,
    ),
    # Memory is taken by the data, not by the arguments.
    "echo one > /l; echo two >> /l; tail -n 1000000000000 /l /l": (
        "==> /l <==\none\ntwo\n==> /l <==\none\ntwo\n",
        0,
    ),
    "seq 100 | tail -n 3; seq 40 | tail -n 33 | head -n 1; tail -n 0 /l": ("98\n99\n100\n8\n", 0),
    "dd if=/l of=/l2 bs=1000g 2> /dev/null; cmp /l /l2": ("", 0),
    "dd if=/bin/usertests of=/x65 bs=65500 count=1 2> /dev/null; ls -l /x65 | grep -c ' 65500 '": (
        "1\n",
        0,
    ),
    "dd if=/bin/usertests of=/u bs=3m 2> /dev/null; cmp /u /bin/usertests": ("", 0),
    # Patterns are read to their end and no further.
    "echo a/b > /u; grep '[^' /u": ("grep: [^: the [ in the pattern has no ]\n", 2),
    "grep '[' /u": ("grep: [: the [ in the pattern has no ]\n", 2),
    "grep 'a[^]' /u": ("grep: [^]: the [ in the pattern has no ]\n", 2),
    "grep '[]' /u": ("grep: []: the [ in the pattern has no ]\n", 2),
    "grep 'x[' /u /nosuch": ("grep: [: the [ in the pattern has no ]\n", 2),
    r"echo '[x]' | grep '\[x[]]'": ("[x]\n", 0),
    "echo '[' | grep '[[]'; grep -c '[^]x]' /u": ("[\n1\n", 0),
    "mkdir /g; cd /g; echo > a; echo > b; echo > '[!'; echo [! [ [a [a-; cd /": (
        "[! [ [a [a-\n",
        0,
    ),
    "cd /g; echo [!a] [a-] []a] [\\]a] ['a'] [!]a]; cd /": ("b a a a a b\n", 0),
    "mkdir /q; cd /q; for i in + ] Z a - '!'; do echo > \"$i\"; done; echo [+-\\]] [+-']']; cd /": (
        "+ - Z ] + - Z ]\n",
        0,
    ),
    "cd /q; echo ['!'Z] [\\!Z] [a'-'Z] [a\\-Z] [\"a-z\"] [^+-Z\\]] \"[a]\" [a] '[^'a]; cd /": (
        "! Z ! Z - Z a - Z a - a ! a [a] a [^a]\n",
        0,
    ),
    "mkdir -p ''; mkdir -p /p//q/ /p/q; ls -d /p/q; sh -c \"set ''\"": (
        "mkdir: : no such file or directory\n/p/q\nsh: -c: line 1: set: only -e and +e are known\n",
        2,
    ),
    # The output does not become the input.
    "cat /l /k >> /l; grep -n o /l >> /l; hexdump /l >> /l; uniq /l >> /l; cat /l": (
        "cat: /l: is the output too\ngrep: /l: is the output too\n"
        "hexdump: /l: is the output too\nuniq: /l: is the output too\none\ntwo\nkeep\n",
        0,
    ),
    "cat < /l | cat /k - | head -n 2; echo one > /l; echo two >> /l": ("keep\none\n", 0),
    # The same with standard input, with a file larger than the buffers of both streams.
    "seq 9000 > /nb; cp /nb /l3; hexdump < /l3 >> /l3": (
        "hexdump: standard input: is the output too\n",
        1,
    ),
    "grep 1 < /l3 >> /l3": ("grep: standard input: is the output too\n", 2),
    "head -n 99999999 < /l3 >> /l3; head -n 99999999 /l3 >> /l3": (
        "head: standard input: is the output too\nhead: /l3: is the output too\n",
        1,
    ),
    "xargs -n 1 echo < /l3 >> /l3": ("xargs: standard input: is the output too\n", 1),
    "tee -a /l3 < /l3 | cmp - /nb": ("tee: /l3: is the input too\n", 0),
    "tee /l4 < /l3 >> /l3": ("tee: standard input: is the output too\n", 1),
    "dd if=/l3 bs=4 >> /l3; dd of=/l3 seek=1 conv=notrunc < /l3": (
        "dd: /l3: is the output too\ndd: standard input: is the output too\n",
        1,
    ),
    "dd if=/l3 of=/l3 bs=4k conv=notrunc 2> /dev/null; cmp /l3 /nb; cmp /l4 /nb": ("", 0),
    # A program ends when nothing more can come of it.
    f"seq {MOST} | grep -q 5": ("", 0),
    "grep -q 1 /nosuch /nb": ("grep: /nosuch: no such file or directory\n", 0),
    "grep -q x /nosuch /nb": ("grep: /nosuch: no such file or directory\n", 2),
    # Lines hold any bytes.
    "grep '' /bin/cat > /nul; echo >> /bin/cat; cmp /nul /bin/cat": ("", 0),
    "sort -r /nul > /n1; sort /nul /nul | uniq > /n2; sort -u /n1 | cmp - /n2": ("", 0),
    "[ $(wc -c < /n1) = $(wc -c < /nul) ]": ("", 0),
    # The limit of exec's arguments bounds how many xargs passes at a time.
    f"echo {'n' * 1000} > /w1; for i in $(seq 8); do cat /w1 /w1 > /w2; mv /w2 /w1; done": ("", 0),
    "xargs echo < /w1 > /w2 && wc -w < /w2; wc -l < /w2": ("256\n4\n", 0),
    # A name of the greatest length stands for a file as any other.
    f"echo old > /{LONGEST}; [ -f /{LONGEST} ]; grep old /{LONGEST}": ("old\n", 0),
    # More operands than a program has a use for.
    "echo a > /a1; uniq /a1 /a2": ("usage: uniq [-cd] [FILE]\n", 2),
    # The shell reads, computes and redirects.
    ". /nosuch; . /; . /dev/zero; .": (
        "sh: .: /nosuch: no such file or directory\nsh: .: /: is a directory\n"
        "sh: .: /dev/zero: file too large\n"
        "sh: .: expected a file\n",
        2,
    ),
    "''": ("sh: : command not found\n", 127),
    "sh < /": ("sh: line 1: standard input: is a directory\n", 2),
    "read x < /": ("sh: read: standard input: is a directory\n", 2),
    f"echo $(({LEAST})) $((- 5)) $((3 - -2)) $((--5)) $((-(2)))": (f"{LEAST} -5 5 5 -2\n", 0),
    "y=1 > /made; ls /made; y=2 > /nosuch/f || echo $y": (
        "/made\nsh: /nosuch/f: no such file or directory\n1\n",
        0,
    ),
    "[ ! = ! ] && [ ! != a ] && [ ! -e /nosuch ] && [ ! a = b ]": ("", 0),
    "[ ! = a ] || [ ! a = a ]": ("", 1),
    "echo '. /r' > /r; . /r": ("sh: /r: line 1: /r: files nested more than 100 deep\n", 2),
    "sh -ec 'false && : || false || true && echo on; true && false; echo off'": ("on\n", 1),
    # An error in one operand does not stop the others.
    "tee /nosuch/f /t1 < /l; cat /t1": (
        "tee: /nosuch/f: no such file or directory\none\ntwo\none\ntwo\n",
        0,
    ),
    "tee /nosuch/f < /l": ("tee: /nosuch/f: no such file or directory\none\ntwo\n", 1),
    "head < /; tail < /; hexdump -n 1 < /; sort < /": (None, 1),
    f"ls {'n' * 300} /l; rm -r {'n' * 300} /t1; ls /t1": (None, 1),
    f"cp /l /{'n/' * 600}x; mv /l /{'n/' * 600}x; ls /l": (None, 0),
    "for i in $(seq 900); do echo -n $i; done > /w; xargs echo -n < /w | cmp - /w": ("", 0),
}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, int]]:
    """Return the output and the exit status of each of LINES, from one machine."""
    path = image.make_image(tmp_path_factory.mktemp("programs") / "disk.img", Content())
    with Machine(Config((Disk(path),))) as machine:
        machine.wait_prompt()
        found = {}
        for line in LINES:
            done = machine.run(line)
            found[line] = (done.text, done.status)
        machine.power_off()
    image.check_image(path)
    return found


@pytest.mark.parametrize("line", LINES)
def test_a_line_at_a_boundary(results: dict[str, tuple[str, int]], line: str) -> None:
    text, status = results[line]
    wanted, wanted_status = LINES[line]
    assert status == wanted_status, text
    if wanted is not None:
        assert text == wanted


def test_devices_are_copied_as_devices(boot: Boot) -> None:
    machine = boot()
    machine.check("cp -r /dev /x")
    here, there = (machine.check(f"ls -l {folder}").splitlines() for folder in ("/dev", "/x"))
    # Of each line of `ls -l`: the device's numbers and its name.
    numbers = [[line.split()[2:4] + line.split()[-1:] for line in lines] for lines in (here, there)]
    assert numbers[0] == numbers[1]
    assert any(line.startswith("c") for line in there)
    assert all(line.startswith("c") for line in there)


def test_trees_deeper_than_descriptors_and_paths(boot: Boot) -> None:
    """A tree may be deeper than a process may have descriptors: du, cp, ls -R and rm hold none for
    each level. Where its paths are longer than a path may be, du and rm work, and cp fails."""
    machine = boot()
    machine.check(f"mkdir /t; cd /t; for i in $(seq {DEEP}); do mkdir d; cd d; done; echo in > f")
    machine.check("cd /")
    block = 4  # KiB
    assert machine.check("du -s /t").split() == [str((DEEP + 2) * block), "/t"]
    assert len(machine.check("du /t").splitlines()) == DEEP + 1
    machine.check("cp -r /t /copy")
    assert machine.check("cat /copy" + "/d" * DEEP + "/f") == "in\n"
    assert machine.check("ls -R /t | grep -c ':$'") == f"{DEEP + 1}\n"
    assert machine.check("rm -r /copy; ls -d /copy 2> /dev/null || echo gone") == "gone\n"
    name = "n" * 100
    machine.check(f"cd /t/d; for i in $(seq 40); do mkdir {name}; cd {name}; done; echo > f; cd /")
    assert len(machine.check("du /t").splitlines()) == DEEP + 1 + 40
    assert "name too long" in machine.run("cp -r /t /copy").text
    machine.check("rm -rf /t /copy")
    assert machine.run("ls -d /t /copy").text.count("no such file") == 2


def test_no_directory_is_copied_into_itself_from_any_depth(boot: Boot) -> None:
    """The current directory is 400 levels below the one that is to be copied. A path up to it would
    be longer than a path may be, and cp still notices."""
    machine = boot()
    machine.check("mkdir /t; cd /t; for i in $(seq 400); do mkdir d; cd d; done")
    for line in "cp -r /t x", "mkdir y; cp -r /t y", "cp -r /t y/z":
        done = machine.run(line)
        assert (done.text, done.status) == ("cp: /t: cannot be copied into itself\n", 1)
    machine.check("cp -r y x; cd /")
    # /t, its 400 levels, and then y and x.
    assert machine.check("ls -R /t | grep -c ':$'") == "403\n"


def test_rm_goes_on_after_a_failure_and_says_it_once(boot: Boot, make_image: MakeImage) -> None:
    """rm -r cannot remove the directory where a disk is mounted. It removes all else that it can,
    and prints one message."""
    second = Disk(make_image(programs=False, size="4M"))
    machine = boot(disks=(Disk(make_image()), second))
    machine.check("mkdir -p /r/a/m /r/b; echo > /r/a/f; echo > /r/b/f; mount disk1 /r/a/m")
    done = machine.run("rm -r /r")
    assert (done.text.replace("/lost+found", ""), done.status) == (
        "rm: /r/a/m: device or file busy\n",
        1,
    )
    assert machine.check("ls /r /r/a") == "/r:\na\n\n/r/a:\nm\n"
    machine.check("umount /r/a/m; rm -r /r")


def test_mv_to_another_disk_replaces_the_name_and_not_what_it_leads_to(
    boot: Boot, make_image: MakeImage
) -> None:
    """mv to another disk copies the file. The name there may be a symbolic link, one of two hard
    links, or a link that leads nowhere: mv replaces it, and what it led to stays. If the disk is
    full, nothing changes."""
    machine = boot(disks=(Disk(make_image()), Disk(make_image(programs=False, size="2M"))))
    machine.check("mkdir /mnt; mount disk1 /mnt; echo target > /mnt/t; ln -s t /mnt/l")
    machine.check("echo new > /f; mv /f /mnt/l")
    assert machine.check("cat /mnt/t /mnt/l; ls -l /mnt/l | grep -c '^-'") == "target\nnew\n1\n"
    machine.check("ln /mnt/t /mnt/other; echo newer > /f; mv /f /mnt/other")
    assert machine.check("cat /mnt/t /mnt/other") == "target\nnewer\n"
    machine.check("ln -s / /mnt/gone; ln -s nowhere /mnt/n; echo last > /f; mv /f /mnt/n")
    assert machine.check("cat /mnt/n; ls /mnt | grep -c nowhere || true") == "last\n0\n"
    machine.check(f"echo long > /{LONGEST}; mv /{LONGEST} /mnt; mv /mnt/{LONGEST} /")
    assert machine.check(f"cat /{LONGEST}; ls -a /mnt | grep -c new || true") == "long\n0\n"
    machine.check("seq 600000 > /big")
    done = machine.run("mv /big /mnt/t")  # no room: nothing changes
    assert done.status == 1
    assert "no space left" in done.text
    assert (
        machine.check("cat /mnt/t; ls -a /mnt | grep -c new || true; ls /big")
        == "target\n0\n/big\n"
    )


def test_a_write_error_is_the_status_of_builtins_and_programs(
    boot: Boot, make_image: MakeImage
) -> None:
    """The disk at /m is full. Each command fails with a message, also an endless one and each
    program behind a pipe. The shell goes on."""
    machine = boot(disks=(Disk(make_image()), Disk(make_image(programs=False, size="2M"))))
    machine.check("mkdir /m; mount disk1 /m; > /m/small; > /m/full")
    machine.run("dd if=/dev/zero of=/m/fill bs=512; dd if=/dev/zero of=/m/fill2 bs=1")
    for line, status in {
        "help > /m/small": 1,
        "{ help; echo the group has $?; } > /m/small": 1,
        "set > /m/small | cat; x=1; set > /m/small": 1,
        "sh -c 'help' > /m/small": 1,
        "echo x > /m/small": 1,
        f"seq {MOST} > /m/small": 1,  # seq ends with status 1
        f"seq {MOST} | grep 5 > /m/small": 1,  # so does seq, when grep has ended
        f"seq {MOST} | uniq > /m/small": 1,
        f"seq {MOST} | hexdump > /m/small": 1,
        f"seq {MOST} | tee > /m/small": 1,
        f"seq {MOST} | tee /m/small > /m/full": 1,
        "iostat 0.01 > /m/small": 1,
        "head -c 100000g /dev/zero > /m/small": 1,
    }.items():
        done = machine.run(line)
        assert (done.status, "no space left on the disk" in done.text) == (status, True), line
    assert machine.check("help | grep -c builtin || true; history > /dev/null; echo $?") == "0\n0\n"
    assert "after all\n" in machine.check("help > /m/small || echo after all")
    assert machine.check("cd / && echo the shell lives") == "the shell lives\n"


def test_a_long_line_does_not_end_the_shell_that_reads_it(run_script: Run) -> None:
    """The builtin `read` fails with status 2 for a line that is too long, and then reads the next
    line."""
    script = (
        "seq 20000 | xargs -n 250 echo -n > /l\necho >> /l\necho next >> /l\n"
        "{ read x; echo first: $? [$x]; read x; echo second: $? $x; } < /l\n"
    )
    lines = run_script(script).console.splitlines()
    assert "first: 2 []" in lines
    assert "second: 0 next" in lines


def test_the_shell_keeps_its_descriptors_when_no_more_can_be_had(boot: Boot) -> None:
    """60 nested groups, each with a redirection, need more descriptors than a process may have."""
    machine = boot()
    nested = 't=\'echo x\'; for i in $(seq 60); do t="{ $t; } > /d$i"; done; echo "$t" > /t'
    machine.check(nested)
    done = machine.run(". /t")
    assert (done.text, done.status) == ("sh: /t: line 1: a redirection: too many open files\n", 1)
    assert machine.check("echo the shell lives | cat") == "the shell lives\n"


def test_a_long_chain_takes_no_stack(run_script: Run) -> None:
    """200,000 commands, joined by &&, are in one line. If each took stack, the shell would die."""
    chain = "true && " * 4 + ": && " * 200_000 + "echo reached\n"
    result = run_script("sh /chain\n", {"chain": chain.encode()}, memory="256M")
    assert "reached\n" in result.console


def test_a_disk_mounted_at_a_name_with_blanks_is_counted(boot: Boot, make_image: MakeImage) -> None:
    machine = boot(disks=(Disk(make_image()), Disk(make_image(programs=False, size="2M"))))
    machine.check("mkdir '/a b c'; mount disk1 '/a b c'")
    last = machine.check("df").splitlines()[-1]
    assert last.startswith("disk1 ")
    assert last.endswith(" rw /a b c")
