"""The mock interview: 45 minutes drawn from all of it, and what there is to say of it afterwards.

Read in this order:

    draw            what a mock consists of, and the minutes of its parts
    record          what is kept of it, and what came of each part
    rating          the rule by which an interviewer's words are given
    talk            the mock itself: where one is, what is handed in, what comes next
    report          how it went, as a page and as text
"""
