"""When a signal may end the demo: once, and never while the demo sets up or cleans up."""

import signal

import pytest

from agent.demo.interruptions import ENDINGS, Interrupted, Interruptions


@pytest.mark.parametrize("number", ENDINGS)
def test_a_signal_ends_an_interruptible_part_of_the_demo(number):
    """Some parts of `stocktake demo` may be interrupted. A signal such as Ctrl-C ends an interruptible part at once."""
    with Interruptions() as interruptions, pytest.raises(Interrupted) as raised, interruptions.allowed():
        signal.raise_signal(number)
    assert raised.value.number == number


def test_a_signal_during_the_set_up_of_the_demo_waits():
    """A signal during the set-up of the demo takes effect at the next point where an interruption is allowed."""
    with Interruptions() as interruptions:
        signal.raise_signal(signal.SIGTERM)
        made = "whole"
        with pytest.raises(Interrupted), interruptions.allowed():
            made = "half"
    assert made == "whole"


def test_a_second_signal_does_not_interrupt_the_clean_up():
    """After a first signal the demo cleans up, and a second signal such as Ctrl-C does not stop the clean-up."""
    cleaned = []
    with Interruptions() as interruptions:
        with pytest.raises(Interrupted), interruptions.allowed():
            made_then_cleaned(cleaned)
        signal.raise_signal(signal.SIGINT)
    assert cleaned == ["whole"]


def made_then_cleaned(cleaned):
    try:
        signal.raise_signal(signal.SIGTERM)
    finally:
        signal.raise_signal(signal.SIGINT)
        cleaned.append("whole")


def test_the_demo_stays_interruptible_after_a_nested_block():
    """A signal still ends the demo after a nested interruptible block has ended."""
    with Interruptions() as interruptions, pytest.raises(Interrupted), interruptions.allowed():
        raised_after_an_inner_block(interruptions)


def raised_after_an_inner_block(interruptions):
    with interruptions.allowed():
        pass
    signal.raise_signal(signal.SIGTERM)


def test_the_demo_restores_the_signal_handlers():
    """At its end, the demo restores the signal handlers that were set before it began."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        of_int = signal.getsignal(signal.SIGINT)
        with Interruptions() as interruptions, interruptions.allowed():
            signal.raise_signal(signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        assert signal.getsignal(signal.SIGINT) is of_int
    finally:
        signal.signal(signal.SIGHUP, before)
