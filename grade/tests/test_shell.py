"""The shell and the tools at the console, as a user types."""

import pytest
from conftest import Boot, MakeImage, Run

from grade import image
from grade.image import Content
from grade.machine import Config, Disk, Machine

LINES = {
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
}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What each of the lines prints, in one machine."""
    path = image.make(tmp_path_factory.mktemp("shell") / "disk.img", Content())
    with Machine(Config((Disk(path),))) as machine:
        machine.wait_prompt()
        said = {line: machine.run(line).text for line in LINES}
        machine.power_off()
    image.check(path)
    return said


@pytest.mark.parametrize("line", LINES)
def test_a_line_prints_what_it_should(outputs: dict[str, str], line: str) -> None:
    assert outputs[line].replace(" ", "") == LINES[line].replace(" ", "")


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
