import { expect, test } from "vitest";
import { choicesOf } from "./choices";

test("records of one name are told apart, by their hosts or else by their identifiers", () =>
  expect(
    choicesOf([
      { id: "conn_1", name: "CRM", kind: "bearer", hosts: ["eu.example.com"] },
      { id: "conn_2", name: "CRM", kind: "bearer", hosts: ["us.example.com", "us2.example.com"] },
      { id: "conn_3", name: "CRM", kind: "basic", hosts: ["us.example.com", "us2.example.com"] },
      { id: "wf_1", name: "Greet" },
      { id: "wf_2", name: "Greet" },
      { id: "wf_3", name: "Bill" },
    ]),
  ).toEqual([
    { value: "conn_1", label: "CRM", detail: "eu.example.com" },
    { value: "conn_2", label: "CRM", detail: "us.example.com, us2.example.com · conn_2" },
    { value: "conn_3", label: "CRM", detail: "us.example.com, us2.example.com · conn_3" },
    { value: "wf_1", label: "Greet", detail: "wf_1" },
    { value: "wf_2", label: "Greet", detail: "wf_2" },
    { value: "wf_3", label: "Bill", detail: undefined },
  ]));
