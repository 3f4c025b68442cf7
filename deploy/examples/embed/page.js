const editor = document.querySelector("sluice-editor");
const state = document.querySelector("#state");

// Your server gives a token to who is signed in to your product. The editor asks again before it ends.
editor.getToken = async () => {
  const answer = await fetch("/automation-token", { method: "POST" });
  if (!answer.ok) throw new Error("You are not signed in any more.");
  return answer.json();
};

for (const name of ["saved", "published", "dirty", "error"])
  editor.addEventListener(name, ({ detail }) => {
    state.textContent = `${name} ${JSON.stringify(detail)}`;
  });

const act = (button, what) =>
  document.querySelector(button).addEventListener("click", () =>
    what().catch((failure) => {
      state.textContent = failure.message;
    }),
  );
act("#save", () => editor.save());
act("#publish", () => editor.publish());
