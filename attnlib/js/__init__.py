"""The course's own model once more in JavaScript, for a page that a reader can use without Python (book: Chapter 4).

eight_bits    the stored parameters as 8-bit integers with a scale for each row, in NumPy
letters       which characters the tokenizer calls letters, numerals and white space
marks         where each position would attend to if it looked for one thing, such as the opening bracket
held_out      the held-out code over which the page measures, and its positions
kinds         what the page says of each kind of number that unfolds: its equation, its line of NumPy
breaks        the ways in which a reader can break the model, each with its lesson
script        the two files of the page: its script, and the model
model/        the model: one concept a file, without a library
picture/      what the page draws of it
"""
