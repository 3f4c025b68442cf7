// Writes what pages show while a story is told, as numbered pictures: 0001.jpg and so on, in the order in which it was seen.
import { createHash } from "node:crypto";
import { mkdirSync, rmSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";

const most = { pictures: 400, bytes: 24 << 20 }; // of one story
const size = { maxWidth: 1280, maxHeight: 800 };
const interval = 150; // milliseconds between two pictures: what moves is seen, and not each of its frames

/** Begins the sequence of a story in a folder of its own. */
export function sequence(folder) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  let [taken, bytes, last, lastAt, isPaused] = [0, 0, "", 0, false];
  const written = [];
  const pages = []; // of each, what writes its newest frame
  return {
    /** Follows a page until it is closed. */
    async follow(page) {
      const session = await page.context().newCDPSession(page);
      let [waiting, newest] = []; // a frame that came too soon after another one
      const keep = (data) => {
        const picture = Buffer.from(data, "base64");
        const hash = createHash("sha256").update(picture).digest("base64");
        if (isPaused || hash === last || taken >= most.pictures || bytes + picture.length > most.bytes) return;
        [last, lastAt, bytes] = [hash, Date.now(), bytes + picture.length];
        written.push(writeFile(join(folder, `${String(++taken).padStart(4, "0")}.jpg`), picture));
      };
      const keepNewest = () => {
        clearTimeout(waiting);
        if (newest) keep(newest);
        newest = undefined;
      };
      pages.push(keepNewest);
      session.on("Page.screencastFrame", ({ data, sessionId }) => {
        session.send("Page.screencastFrameAck", { sessionId }).catch(() => {}); // the page may be closed meanwhile
        clearTimeout(waiting);
        newest = data;
        waiting = setTimeout(keepNewest, lastAt + interval - Date.now());
      });
      await session.send("Page.startScreencast", { format: "jpeg", quality: 70, ...size });
    },
    /** Takes none, or goes on: what is examined in several looks is no part of the story. */
    pause: (is) => {
      if (is) for (const keepNewest of pages) keepNewest();
      isPaused = is;
    },
    /** Waits until all of it is written. */
    end: () => {
      for (const keepNewest of pages) keepNewest();
      return Promise.all(written);
    },
  };
}
