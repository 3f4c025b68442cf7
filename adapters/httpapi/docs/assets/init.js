'use strict';

// Follow the reader's light or dark setting; Swagger UI knows dark by this class.
const dark = window.matchMedia('(prefers-color-scheme: dark)');
const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', follow);
follow();

SwaggerUIBundle({
  url: '../openapi.yaml',
  dom_id: '#reference',
  deepLinking: true,
  displayRequestDuration: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: 0,
  defaultModelExpandDepth: 3,
  tryItOutEnabled: true,
  persistAuthorization: false, // a secret key does not belong into the browser's storage
  validatorUrl: null, // the validator is somebody else's service
});
