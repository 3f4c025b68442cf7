// A product's page in React that shows the editor, as stories/48-embed-react.mjs drives it: what the editor says is kept in `globalThis.said`.
import { createElement, createRef, useState } from "react";
import { createRoot } from "react-dom/client";
import { SluiceEditor } from "../../adapters/httpapi/client/typescript/src/react.ts";

const { embedId, workflowId, gateway } = document.body.dataset;
const editor = createRef();
const said = [];
const keep = (name) => (detail) => void said.push([name, detail]);
const getToken = () => fetch("/token", { method: "POST" }).then((answer) => answer.json());

function Page() {
  const [props, setProps] = useState({});
  Object.assign(globalThis, { said, editor, setProps });
  if (props.isGone) return createElement("p", null, "It is gone");
  return createElement(SluiceEditor, {
    ref: editor, embedId, workflowId, gateway, getToken, style: { display: "block", height: "100vh" },
    onSaved: keep("saved"), onPublished: keep("published"), onDirty: keep("dirty"), onError: keep("error"), ...props,
  });
}

createRoot(document.getElementById("root")).render(createElement(Page));
