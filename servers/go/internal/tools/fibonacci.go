package tools

import "context"

type fibonacciAnswer struct {
	N      int `json:"n"`
	Result int `json:"result"`
}

func calculateFibonacci(_ context.Context, args *arguments) (any, error) {
	n := args.integer("n", 0, 32)
	if err := args.err(); err != nil {
		return nil, err
	}
	return fibonacciAnswer{N: n, Result: fibonacci(n)}, nil
}

// fibonacci recurses twice on purpose: the tool stands for CPU work.
func fibonacci(n int) int {
	if n < 2 {
		return n
	}
	return fibonacci(n-1) + fibonacci(n-2)
}
