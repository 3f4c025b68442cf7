const soonest = 400;
const latest = 5_000;
const quiet = 2_000;

/** How long to wait until what has changed is read, after a wait of `before` whose reading is `ago` past: longer and longer while changes keep coming. */
export function nextWait(before: number, ago: number): number {
  return ago >= quiet ? soonest : Math.min(before * 2, latest);
}

/** Runs something a moment after it is asked for: once for all who ask until then, and less often while they keep asking. Not while it is paused. */
export function paced(run: (isBack: boolean) => void) {
  let wait = soonest;
  let last = Number.NEGATIVE_INFINITY;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isPaused = false;
  let isDue = false;
  const now = (isBack: boolean) => {
    timer = undefined;
    if (isPaused) return;
    isDue = false;
    last = Date.now();
    run(isBack);
  };
  return {
    ask() {
      isDue = true;
      if (timer !== undefined || isPaused) return;
      wait = nextWait(wait, Date.now() - last);
      timer = setTimeout(now, wait, false);
    },
    pause(on: boolean) {
      isPaused = on;
      if (on || !isDue) return;
      clearTimeout(timer);
      now(true);
    },
    stop() {
      clearTimeout(timer);
    },
  };
}
