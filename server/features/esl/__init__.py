"""What the editor offers in `.esl` files, one feature of the protocol a file. What is computed is computed in `clew.esl`."""
