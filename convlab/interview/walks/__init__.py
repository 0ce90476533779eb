"""Walk-throughs: questions of an interview that are answered at a whiteboard, point by point.

`walk.py` says what one is made of; each question has a file of its own.
"""
