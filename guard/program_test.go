package guard

const roleVar = "PROFGUARD_TEST_ROLE"

func play(role string) int { return 2 }
