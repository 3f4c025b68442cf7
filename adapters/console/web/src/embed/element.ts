// What pages of other products load: it is served under a name that stays, and is the whole of what they load.
export { SluiceEditor } from "../../../../httpapi/client/typescript/src/editor";
