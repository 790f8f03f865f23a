package tools

import (
	"context"
	"strconv"
	"time"
)

type queryAnswer struct {
	Query   string `json:"query"`
	DelayMS int    `json:"delay_ms"`
	Rows    []row  `json:"rows"`
}

type row struct {
	ID    int    `json:"id"`
	Name  string `json:"name"`
	Value int    `json:"value"`
}

func simulateDBQuery(ctx context.Context, args *arguments) (any, error) {
	answer := queryAnswer{
		Query:   args.textOfLength("query", 1, 1000),
		DelayMS: args.integer("delay_ms", 0, 5000, 10),
	}
	count := args.integer("rows", 0, 1000, 10)
	if err := args.err(); err != nil {
		return nil, err
	}

	select {
	case <-time.After(time.Duration(answer.DelayMS) * time.Millisecond):
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}

	answer.Rows = make([]row, count)
	for i := range answer.Rows {
		answer.Rows[i] = row{ID: i, Name: "row-" + strconv.Itoa(i), Value: i * 37 % 1000}
	}
	return answer, nil
}
