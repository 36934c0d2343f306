"""When a signal may end the demo: once, and never while the demo sets up or cleans up."""

import signal

import pytest

from agent.demo.interruptions import ENDINGS, Interrupted, Interruptions


@pytest.mark.parametrize("number", ENDINGS)
def test_a_signal_inside_an_interruptible_block_raises_interrupted_at_once(number):
    with Interruptions() as interruptions, pytest.raises(Interrupted) as raised, interruptions.allowed():
        signal.raise_signal(number)
    assert raised.value.number == number


def test_a_signal_outside_interruptible_blocks_takes_effect_in_the_next_block():
    with Interruptions() as interruptions:
        signal.raise_signal(signal.SIGTERM)
        made = "whole"
        with pytest.raises(Interrupted), interruptions.allowed():
            made = "half"
    assert made == "whole"


def test_a_second_signal_does_not_interrupt_the_clean_up():
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


def test_a_signal_still_interrupts_the_demo_after_a_nested_with_block_ends():
    with Interruptions() as interruptions, pytest.raises(Interrupted), interruptions.allowed():
        raised_after_an_inner_block(interruptions)


def raised_after_an_inner_block(interruptions):
    with interruptions.allowed():
        pass
    signal.raise_signal(signal.SIGTERM)


def test_the_demo_restores_signal_handlers_and_keeps_ignored_signals_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        of_int = signal.getsignal(signal.SIGINT)
        with Interruptions() as interruptions, interruptions.allowed():
            signal.raise_signal(signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        assert signal.getsignal(signal.SIGINT) is of_int
    finally:
        signal.signal(signal.SIGHUP, before)
