"""Plans: one algorithm made ready for one problem, its weights packed and its workspace allocated.

Read in this order:

    plan          a plan on the CPU; `convlab.plan` makes it
    epilogue      bias, residual and ReLU: what a plan does beside the convolution
    feasible      does an algorithm serve the problem, and is there memory for its arrays?
    device_plan   a plan on a GPU or in the simulator: the same, for arrays that lie there
"""
