package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcp-parity/mcp-parity/internal/experiment"
	"github.com/mcp-parity/mcp-parity/internal/subject"
)

func experimentsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "experiments",
		Short: "List the experiments, with what each costs in minutes",
		Long: `List the experiments of experiments/: what each compares, how many launches of servers it makes, and about how long
parity run takes for it once the servers are built, as it is written and with --scale.`,
		Example: `  parity experiments --scale 0.05`,
		Args:    cobra.NoArgs,
	}
	scale := cmd.Flags().Float64("scale", 0.1, "factor for the times of all loads, above 0 and up to 1, as of parity run")
	asJSON := cmd.Flags().Bool("json", false, "print JSON, for scripts")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		dir, err := os.Getwd()
		if err != nil {
			return err
		}
		root, err := subject.FindRoot(dir)
		if err != nil {
			return err
		}
		list, err := listExperiments(root, *scale)
		if err != nil {
			return err
		}
		if *asJSON {
			return json.NewEncoder(cmd.OutOrStdout()).Encode(list)
		}
		return printExperiments(cmd.OutOrStdout(), list, *scale)
	}
	return cmd
}

// listed is an experiment in the list.
type listed struct {
	Name      string   `json:"name"`
	Title     string   `json:"title"`
	Subjects  []string `json:"subjects"`
	Workloads []string `json:"workloads"`
	// Launches are all fresh starts of servers, those for the noise floor too.
	Launches int `json:"launches"`
	// Minutes is about how long the experiment takes as it is written, ScaledMinutes with its times multiplied by Scale.
	Minutes       float64 `json:"minutes"`
	Scale         float64 `json:"scale"`
	ScaledMinutes float64 `json:"scaled_minutes"`
}

func listExperiments(root string, scale float64) ([]listed, error) {
	all, err := experiment.All(root)
	if err != nil {
		return nil, err
	}
	var list []listed
	for _, e := range all {
		scaled, err := e.Scaled(scale)
		if err != nil {
			return nil, err
		}
		l := listed{
			Name: e.Name, Title: e.Title, Subjects: e.Subjects, Launches: len(e.Plan(0)),
			Minutes: minutes(e.Estimate()), Scale: scale, ScaledMinutes: minutes(scaled.Estimate()),
		}
		for _, w := range e.Workloads {
			l.Workloads = append(l.Workloads, w.Name)
		}
		list = append(list, l)
	}
	return list, nil
}

// minutes is as exact as an estimate can be.
func minutes(d time.Duration) float64 { return math.Round(d.Minutes()*10) / 10 }

func printExperiments(w io.Writer, list []listed, scale float64) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "experiment\tsubjects\tworkloads\tlaunches\tminutes\tat --scale %g\twhat is compared\n", scale)
	for _, l := range list {
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%.0f\t%.0f\t%s\n",
			l.Name, len(l.Subjects), len(l.Workloads), l.Launches, l.Minutes, l.ScaledMinutes, l.Title)
	}
	return table.Flush()
}
