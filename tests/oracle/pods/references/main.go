// Says of each image name on standard input, a JSON string per line, whether the kubelet can parse it.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"k8s.io/kubernetes/pkg/util/parsers"

	_ "crypto/sha256"
	_ "crypto/sha512"
)

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var image string
		if err := json.Unmarshal(lines.Bytes(), &image); err != nil {
			panic(err)
		}
		_, _, _, err := parsers.ParseImageName(image)
		fmt.Println(err == nil)
	}
}
