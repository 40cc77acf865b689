"""The editor features of `.esl` files, one protocol feature per file. The computations are in `clew.esl`."""
