// maxKeys bounds how many answers are kept. A service that runs in several processes
// keeps them in its database, in the transaction that has the effect.
const maxKeys = 10_000;

// Once remembers what was answered under a key.
export class Once {
  #answers = new Map(); // the oldest first

  // do returns what fn answered the first time it was called under the key. No key is
  // none.
  do(key, fn) {
    if (!key) {
      return { answer: fn(), again: false };
    }
    if (this.#answers.has(key)) {
      return { answer: this.#answers.get(key), again: true };
    }
    const answer = fn();
    if (this.#answers.size === maxKeys) {
      this.#answers.delete(this.#answers.keys().next().value);
    }
    this.#answers.set(key, answer);
    return { answer, again: false };
  }
}
