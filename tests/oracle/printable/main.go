// Printable prints the code points above ASCII for which strconv.IsPrint holds, as ranges of hexadecimal numbers.
package main

import (
	"fmt"
	"strconv"
)

func main() {
	start := rune(-1)
	for r := rune(0x80); r <= 0x110000; r++ {
		printable := r <= 0x10ffff && (r < 0xd800 || r >= 0xe000) && strconv.IsPrint(r)
		switch {
		case printable && start < 0:
			start = r
		case !printable && start >= 0:
			fmt.Printf("%x", start)
			if start < r-1 {
				fmt.Printf("-%x", r-1)
			}
			fmt.Println()
			start = -1
		}
	}
}
