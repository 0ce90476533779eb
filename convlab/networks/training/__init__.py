"""A small network that learns: layers with their way back, steepest descent, and digits to learn from.

    digits = load_digits()
    network = digits_network(seed=9)
    training = Training(network, digits.pictures, digits.labels, epochs=10, seed=9)
    training.run()                      stop it when you like; called again, it goes on
    network.accuracy(digits.test_pictures, digits.test_labels)

Read in this order:

    layers          convolution, dense, ReLU, max pool: each with `forward` and `backward`
    loss            softmax and cross-entropy: how wrong a guess is, and in which direction
    sequential      layers one after the other; the network for the digits
    descent         steps downhill, with momentum
    checkpointing   keep less for the way back, and compute it again
    digits          1,797 pictures of handwritten digits
"""
