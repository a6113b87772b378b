package tpu

import "slices"

// minTokenBucket is tpu-inference's MIN_TOKEN_BUCKET: the smallest step.
const minTokenBucket = 16

// TokenBuckets is the sizes, in tokens and rising, that a step's tokens are
// padded to: one compiled program each. Read from tpu-inference. Without a gap
// they double up to maxBatched (max_num_batched_tokens). With one
// (VLLM_TPU_BUCKET_PADDING_GAP) they double up to it and then rise by it. An
// odd gap, or a maxBatched that isn't a bucket, ends above maxBatched.
func TokenBuckets(maxBatched, gap int) []int {
	if gap <= 0 {
		return doubling(maxBatched)
	}
	var buckets []int
	n := minTokenBucket
	for ; n <= gap; n *= 2 {
		buckets = append(buckets, n)
	}
	for n /= 2; n < maxBatched; {
		n += gap
		buckets = append(buckets, n)
	}
	return buckets
}

func doubling(maxBatched int) []int {
	buckets := []int{minTokenBucket}
	for n := minTokenBucket; n < maxBatched; {
		n *= 2
		buckets = append(buckets, n)
	}
	return buckets
}

// Pad is the bucket that a step of so many tokens runs in; 0 if none is large
// enough: vLLM would fail. The tokens are the whole step's (every prefill chunk
// and one for each decoding sequence), not a request's.
func Pad(buckets []int, tokens int) int {
	i, _ := slices.BinarySearch(buckets, tokens)
	if i == len(buckets) {
		return 0
	}
	return buckets[i]
}

// PadSequences is the number of sequences that sampling is padded to: powers of
// two from 8, at most maxNumSeqs. Read from tpu-inference (MIN_NUM_SEQS).
func PadSequences(n, maxNumSeqs int) int {
	return min(max(8, nextPowerOfTwo(max(n, 1))), max(maxNumSeqs, 8))
}
