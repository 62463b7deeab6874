"""Generated mistakes: what wrong answers do that no file lists, each with a name and a sentence.

`changed_arguments` has the right function of other arguments, `changed_results` the right function with something done
to its result, `edited_code` the code of the right answers with one edit, made by `rules`. A name uses the letters of
the task only (`letters`), so it gives no line of the solution away.
"""
