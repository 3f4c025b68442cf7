package sqlite

// clock is the time now as the driver writes it: without the zeros at the end of the
// fraction, so that the order of texts is that of times.
const clock = "rtrim(rtrim(strftime('%Y-%m-%d %H:%M:%f', 'now'), '0'), '.') || '+00:00'"
