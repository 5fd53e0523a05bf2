// The real binary on an empty store, for the pages of its API reference.

import { spawn } from "node:child_process";

/** Starts a server on an empty store; resolves with its address. */
export function serve(program, folder) {
  const flags = ["serve", "--data-dir", folder, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"];
  const env = { ...process.env, HOMEROOM_LOG__FORMAT: "json" };
  const server = spawn(program, flags, { env, stdio: ["ignore", "ignore", "pipe"] });
  const address = new Promise((found, failed) => {
    let text = "";
    server.stderr.on("data", (bytes) => {
      text += bytes;
      const told = /"api":"([^"]+)"/.exec(text);
      if (told) found(`http://${told[1]}`);
    });
    server.on("exit", () => failed(new Error(`the server ended: ${text.slice(0, 500)}`)));
  });
  return { server, address };
}
