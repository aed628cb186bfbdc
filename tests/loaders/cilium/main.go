// Loads objects with cilium/ebpf for crates/proof/tests/loaders.rs: each argument is OBJECT=PIN, and the object's program is pinned
// there. Prints nothing and exits with 0 if all were loaded; says what was not and exits with 1 otherwise.
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/rlimit"
)

func load(object, pin string) error {
	spec, err := ebpf.LoadCollectionSpec(object)
	if err != nil {
		return err
	}
	collection, err := ebpf.NewCollection(spec)
	if err != nil {
		return err
	}
	defer collection.Close()
	if len(collection.Programs) != 1 {
		return fmt.Errorf("%d programs", len(collection.Programs))
	}
	for _, program := range collection.Programs {
		if err := program.Pin(pin); err != nil {
			return err
		}
	}
	return nil
}

func main() {
	status := 0
	if err := rlimit.RemoveMemlock(); err != nil {
		fmt.Println(err)
		status = 1
	}
	for _, argument := range os.Args[1:] {
		object, pin, _ := strings.Cut(argument, "=")
		if err := load(object, pin); err != nil {
			fmt.Printf("%s: %v\n", object, err)
			status = 1
		}
	}
	os.Exit(status)
}
