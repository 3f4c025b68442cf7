import { expect, test } from "vitest";
import { metadataPatch } from "./pairs";

test("a pair that was renamed goes, one that was changed is set, and one without a key is left out", () =>
  expect(
    metadataPatch({ team: "billing", crm: "42" }, [
      { id: 1, key: "squad", value: "billing" },
      { id: 2, key: "crm", value: "43" },
      { id: 3, key: " ", value: "nothing" },
    ]),
  ).toEqual({ team: null, crm: "43", squad: "billing" }));
