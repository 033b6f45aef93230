// Requests that compile their regular expression each time (planted) or once (mended).
//
//	savings planted|mended REQUESTS SERVER
package main

import (
	"fmt"
	"log"
	"os"
	"regexp"
	"strconv"
	"time"

	"github.com/grafana/pyroscope-go"
)

const route = `^/(orders|carts|customers)/([0-9]+)(/lines/([0-9]+))?$`

// What a service has in memory; without it the collector would run all the time.
var catalogue = make([]byte, 128<<20)

var once = regexp.MustCompile(route)

//go:noinline
func matches(path string, planted bool) bool {
	if !planted {
		return once.MatchString(path)
	}
	return regexp.MustCompile(route).MatchString(path)
}

// price is what the request is for.
//
//go:noinline
func price(path string) uint32 {
	var sum uint32
	for round := 0; round < 400; round++ {
		for i := 0; i < len(path); i++ {
			sum = sum*31 + uint32(path[i])
		}
	}
	return sum
}

func main() {
	requests, err := strconv.Atoi(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	profiler, err := pyroscope.Start(pyroscope.Config{
		ApplicationName: os.Getenv("OTEL_SERVICE_NAME"),
		ServerAddress:   os.Args[3],
		UploadRate:      2 * time.Second,
		ProfileTypes:    []pyroscope.ProfileType{pyroscope.ProfileCPU},
	})
	if err != nil {
		log.Fatal(err)
	}
	var sum uint32
	for i := 0; i < requests; i++ {
		path := "/orders/" + strconv.Itoa(i) + "/lines/1"
		if !matches(path, os.Args[1] == "planted") {
			log.Fatal("no match")
		}
		sum += price(path)
	}
	if err := profiler.Stop(); err != nil {
		log.Fatal(err)
	}
	fmt.Println(sum, len(catalogue))
}
