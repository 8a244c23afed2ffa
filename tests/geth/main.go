// Command geth asks go-ethereum's trie, which knows nothing of Kedge, about claims of a state. The file that it is
// given holds the state's root, claims that hold and claims that were changed. It prints how many of each it found so,
// and ends with an error at the first one that it reads otherwise.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/ethdb/memorydb"
	"github.com/ethereum/go-ethereum/trie"
)

// claim says that the state holds an entry under a key, or none if the entry is empty.
type claim struct {
	Key   hexutil.Bytes   `json:"key"`
	Entry hexutil.Bytes   `json:"entry"`
	Nodes []hexutil.Bytes `json:"nodes"`
}

type claims struct {
	Root    common.Hash `json:"root"`
	Holding []claim     `json:"holding"`
	Changed []claim     `json:"changed"`
}

// check returns why the nodes do not show under the root what the claim says.
func (c claim) check(root common.Hash) error {
	nodes := memorydb.New()
	for _, node := range c.Nodes {
		if err := nodes.Put(crypto.Keccak256(node), node); err != nil {
			return err
		}
	}
	found, err := trie.VerifyProof(root, crypto.Keccak256(c.Key), nodes)
	if err != nil {
		return err
	}
	var stated []byte
	if len(c.Entry) > 0 {
		stated = crypto.Keccak256(c.Entry)
	}
	if !bytes.Equal(found, stated) {
		return fmt.Errorf("the state holds %x", found)
	}
	return nil
}

func run(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var all claims
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	present, absent := 0, 0
	for _, each := range all.Holding {
		if err := each.check(all.Root); err != nil {
			return fmt.Errorf("the claim about %s does not hold: %w", string(each.Key), err)
		}
		if len(each.Entry) > 0 {
			present++
		} else {
			absent++
		}
	}
	for _, each := range all.Changed {
		if each.check(all.Root) == nil {
			return fmt.Errorf("the changed claim about %s holds", string(each.Key))
		}
	}
	fmt.Printf("%d present, %d absent, %d refused\n", present, absent, len(all.Changed))
	return nil
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: geth FILE")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
