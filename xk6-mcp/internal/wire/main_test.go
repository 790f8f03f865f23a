package wire_test

import (
	"testing"

	"go.uber.org/goleak"
)

// Whatever a test starts, it must end: sessions leave no goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
