import { arrange, type TidyRequest } from "./arrange";

addEventListener("message", ({ data }: MessageEvent<TidyRequest>) => postMessage(arrange(data)));
