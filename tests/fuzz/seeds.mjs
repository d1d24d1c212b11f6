// Makes the seeds of fuzz_request from the golden vectors: corpus/fuzz_request/NAME.
// Other files of that folder (inputs that a fuzzer once failed on) are left alone.
// With --check nothing is written; it fails when a seed is missing or differs.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const vectors = join(here, "../../protocol/vectors");
const folder = join(here, "corpus/fuzz_request");
const args = process.argv.slice(2);
if (args.length > 1 || (args.length === 1 && args[0] !== "--check")) {
  console.error("usage: node seeds.mjs [--check]");
  process.exit(args[0] === "--help" ? 0 : 2);
}
const check = args[0] === "--check";

mkdirSync(folder, { recursive: true });
let count = 0;
const wrong = [];
for (const file of ["requests.json", "refused.json", "malformed.json"]) {
  for (const { name, hex } of JSON.parse(readFileSync(join(vectors, file), "utf8"))) {
    const path = join(folder, name.replace(/[^A-Za-z0-9.^-]+/g, "_"));
    const bytes = Buffer.from(hex, "hex");
    if (!check) writeFileSync(path, bytes);
    else if (!existsSync(path) || !readFileSync(path).equals(bytes)) wrong.push(name);
    count++;
  }
}
if (wrong.length > 0) {
  console.error(`seeds differ from the vectors: ${wrong.join(", ")}\nrun: node tests/fuzz/seeds.mjs`);
  process.exit(1);
}
console.log(`${count} seeds`);
