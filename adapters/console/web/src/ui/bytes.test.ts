import { expect, test } from "vitest";
import { bytes } from "./bytes";

test.each([
  [0, "0 B"],
  [999, "999 B"],
  [1000, "1.0 kB"],
  [10_485_760, "10.5 MB"],
  [999_999, "1.0 MB"],
  [5e15, "5000 TB"],
])("%d bytes are %s", (count, want) => expect(bytes(count)).toBe(want));
